//! `holdfast demo`: plays a session with real processes that survives a reload, a freeze and a kill of a fake Unity, and prints
//! it as a timeline. The demo needs no other program, checks the promises itself, and exits with 0 only if all were kept.

mod promises;
mod scene;
mod stage;
mod story;
mod telling;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

use holdfast_fake_unity::{PACKAGES, Package};
use tokio::time::Instant;

use super::resources::runtime;
use super::serve::signalled;
use super::{Exit, output};
use crate::limits::FLUSH_MAX;
use crate::limits::demo::DEMO_MAX;
use scene::Scene;
use stage::Stage;
use story::Pace;
use telling::Teller;

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct DemoArgs {
    /// Print what happens as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Shorten the pauses that are there for the eye
    #[arg(long)]
    pub fast: bool,
    /// Keep the folder with the project, the logs and the counter file, and name it
    #[arg(long)]
    pub keep: bool,
    /// The package that the fake Unity has
    #[arg(long = "dialect", value_parser = Package::parser(), default_value = PACKAGES[0].name, value_name = "NAME")]
    pub package: &'static Package,
}

pub fn run(arguments: DemoArgs) -> ExitCode {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::complain(&format!(
                "holdfast demo: no threads could be started ({error}); free some and start it again"
            ));
            return Exit::Internal.into();
        }
    };
    let exit = runtime.block_on(play(arguments));
    runtime.shutdown_timeout(FLUSH_MAX);
    exit.into()
}

async fn play(arguments: DemoArgs) -> Exit {
    // The signal handlers are installed first: a signal that came before them would leave a folder or a process behind.
    let interrupted = interrupted();
    let (stage, news) = match Stage::set(arguments.package) {
        Ok(set) => set,
        Err(error) => {
            output::complain(&format!(
                "holdfast demo: no folder could be made in {} ({error}); set TMPDIR to one that can be written",
                std::env::temp_dir().display()
            ));
            return Exit::Failed;
        }
    };
    let teller = Teller::new(arguments.json);
    teller.opening(env!("CARGO_PKG_VERSION"));
    let began = Instant::now();
    let mut scene = Scene::new(stage, news, teller);
    let ended = tokio::select! {
        ended = tokio::time::timeout(DEMO_MAX, story::play(&mut scene, Pace { fast: arguments.fast }, arguments.package)) => Some(ended),
        () = interrupted => None,
    };
    let stopped = match ended {
        None => {
            scene.stage.clear().await;
            scene.stage.strike();
            teller.interrupted();
            return Exit::Failed;
        }
        Some(Ok(Ok(()))) => None,
        Some(Ok(Err(stopped))) => Some(stopped.to_string()),
        Some(Err(_)) => Some(format!("it did not end within {} s", DEMO_MAX.as_secs())),
    };
    // If the story was completed, no process is left to kill. That is one of the promises, so the numbers are read before
    // `clear`, which changes them.
    let left = (scene.stage.started, scene.stage.ended);
    scene.stage.clear().await;
    scene.history.children = left;
    scene.history.stopped = stopped;
    scene.history.runs = story::runs(&scene.stage.count_file());
    scene.close_recoveries();
    let promises = promises::check(&scene.history);
    teller.closing(&scene.timeline, &scene.history, &promises, began.elapsed());
    let kept = promises.iter().all(|promise| promise.seen.is_ok());
    if kept && !arguments.keep {
        scene.stage.strike();
    } else {
        output::complain(&format!("The logs and the fake project are in {}", scene.stage.folder().display()));
    }
    if kept { Exit::Ok } else { Exit::Failed }
}

/// Completes on the first signal that asks the process to end. Never completes if no handler could be installed.
fn interrupted() -> impl Future<Output = ()> + use<> {
    let signalled = signalled();
    async move {
        if signalled.await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
