mod killed_log;
mod logs;
mod sqlite_log;
