//! What is kept on disk: catalogues, records of running processes, result files, logs, and the audit file.

pub mod audit;
pub mod call_files;
pub mod call_ids;
pub mod catalogue_file;
pub mod gateway_calls;
pub mod http_token;
pub mod hub_folder;
pub mod instance_record;
pub mod locked_record;
pub mod log_files;
pub mod result_files;
