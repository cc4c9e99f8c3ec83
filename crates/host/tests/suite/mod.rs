mod agent;
mod asks;
mod closing;
mod conversation;
mod deadlines;
mod ends;
mod limits;
mod orderings;
