mod agent;
mod asks;
mod closing;
mod conversation;
mod ends;
mod orderings;
