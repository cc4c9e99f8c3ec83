mod agent;
mod asks;
mod conversation;
