//! Configuration as systems read it.

mod read_back;
mod tc;
