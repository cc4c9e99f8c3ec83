//! [`Readers`]: connections that only read.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::super::ReadError;
use super::database;

/// How many reads run at once. Each is one page, so none takes long.
const MOST_READERS: usize = 8;

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Arc::default(), permits: Arc::new(Semaphore::new(MOST_READERS)) }
    }

    /// Runs a read on a thread that may block. Its transaction ends before the result is returned.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, ReadError> + Send + 'static,
    ) -> Result<T, ReadError> {
        let storage = |error: &dyn std::fmt::Display| ReadError::Storage(error.to_string());
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|e| storage(&e))?;
        let (path, idle) = (self.path.clone(), Arc::clone(&self.idle));
        let work = move || {
            let kept = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match kept {
                Some(connection) => connection,
                None => database::open_to_read(&path).map_err(database::unreadable)?,
            };
            let result = read(&connection);
            // After a failure of the storage, the next read opens the database again.
            if !matches!(result, Err(ReadError::Storage(_))) {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| storage(&error))?
    }
}
