mod recordings;
