//! holdfast: flags -> runtime -> exit code. See the library for everything else.

use std::process::ExitCode;

fn main() -> ExitCode {
    holdfast::cli::main()
}
