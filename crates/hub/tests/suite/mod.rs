mod api;
mod http;
mod killed_log;
mod logs;
mod running;
mod sqlite_log;
mod stage;
