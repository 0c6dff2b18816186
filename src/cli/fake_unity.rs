//! `holdfast fake-unity`: a model of an editor in a separate process, which can be killed.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use super::resources::runtime;
use super::{Exit, output};
use holdfast_fake_unity::{AbortiveTcp, FakeUnityArgs, run_process};

/// Runs until its stdin ends, a line on stdin tells it to quit, or a simulated crash ends it.
pub fn run(arguments: FakeUnityArgs) -> ExitCode {
    let mut options = arguments.steer_options();
    // A person who types its commands on the terminal must see the typed text.
    options.quiet |= std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut config = arguments.into_config();
    let net = AbortiveTcp::default();
    config.reset = Some(net.switch());
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!("holdfast fake-unity: no runtime could be started: {error}"));
            return Exit::Internal.into();
        }
    };
    let stdin = tokio::io::BufReader::new(tokio::io::stdin());
    let ended = runtime.block_on(run_process(config, options, Arc::new(net), stdin, crate::platform::stdio::Stdout));
    runtime.shutdown_background();
    match ended {
        Ok(ending) => ExitCode::from(ending.code()),
        Err(error) => {
            let fix = match error.kind() {
                std::io::ErrorKind::AlreadyExists => "",
                _ => "; choose another port with --port, or 0 for any",
            };
            output::complain(&format!("holdfast fake-unity: {error}{fix}"));
            Exit::Failed.into()
        }
    }
}
