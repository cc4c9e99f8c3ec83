mod dying;
mod environment;
mod host;
mod pages;
mod pipes;
mod talking;
mod tidy;
