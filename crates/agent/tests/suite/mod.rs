mod faults;
mod hooks;
mod hostile;
mod hosts;
mod legal;
mod oldest;
mod support;
mod turns;
