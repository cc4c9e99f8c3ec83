mod faults;
mod hostile;
mod hosts;
mod oldest;
mod support;
mod turns;
