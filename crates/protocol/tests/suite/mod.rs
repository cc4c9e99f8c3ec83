mod hostile;
mod recordings;
