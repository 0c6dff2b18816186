//! What stands on disk: catalogues, records of running gateways, the audit file.

pub mod audit;
pub mod catalogue_file;
pub mod instance_record;
pub mod locked_record;
pub mod result_files;
