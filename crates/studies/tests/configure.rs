//! Configuration as systems read it.

mod nft;
mod ports;
mod read_back;
mod rollback;
mod tc;
