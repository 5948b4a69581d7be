//! Configuration as systems read it.

mod nft;
mod ports;
mod read_back;
mod readers;
mod rollback;
mod tc;
