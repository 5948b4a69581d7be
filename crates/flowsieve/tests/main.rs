//! What tests this crate from outside, as one program: each links all that is under it.

mod absent;
mod catalogue;
mod causes;
mod cli;
mod command;
mod completions;
mod convert;
mod docs;
mod examples;
mod export;
mod files;
mod folders;
mod generated;
mod golden;
mod guide;
mod init;
mod lab;
mod lab_own;
mod machine;
mod options;
mod output;
mod own_scheme;
mod own_setting;
mod shards;
mod without_repository;
mod workspace;
