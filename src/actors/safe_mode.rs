//! Finds out whether an editor that lives and does not listen is in Safe Mode, which Unity offers for a project whose scripts do not
//! compile. A task of the bridge.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::time::sleep;

use crate::core::link::Fact;
use crate::fsm::cause::Cause;
use crate::limits::EDITOR_LOG_LOOK_EVERY;
use crate::link::Contact;
use crate::platform::host;
use crate::runtime::environment::Environment;
use crate::runtime::supervisor::Tasks;
use crate::survey::editor_log::compile_error;

/// Looks into Unity's log, again and again as long as nothing listens. Does nothing if such a task runs already, as `looking` says, or
/// if the log's place is not known.
pub fn look(contact: &Arc<Contact>, env: &Arc<Environment>, tasks: &Tasks, looking: &Arc<AtomicBool>) {
    let Some(log) = env.config.editor_log.clone() else { return };
    if looking.swap(true, Ordering::AcqRel) {
        return;
    }
    let (contact, env, looking) = (Arc::clone(contact), Arc::clone(env), Arc::clone(looking));
    tasks.spawn(async move {
        loop {
            while is_unheard(&contact) {
                let (place, machine, editor) = (log.clone(), Arc::clone(&env.host), editor(&contact));
                let work = move || {
                    let (project, pid) = editor?;
                    compile_error(&*machine, &place, &project, pid)
                };
                // A look that hangs is waited for, so that it does not become many.
                let error = host::run(&*env.host, work).await;
                contact.view.tell(Fact::DoesNotCompile(error.flatten()));
                sleep(EDITOR_LOG_LOOK_EVERY).await;
            }
            looking.store(false, Ordering::Release);
            // It may have gone away between the look and the store.
            if !is_unheard(&contact) || looking.swap(true, Ordering::AcqRel) {
                return;
            }
        }
    });
}

/// Whether nothing listens where the editor should. In Safe Mode nothing does.
fn is_unheard(contact: &Contact) -> bool {
    let view = contact.view.borrow();
    view.availability.cause() == Some(Cause::BridgeDown) && view.foreign_peer.is_none()
}

/// The project whose editor is meant, and that editor's process, if it is known.
fn editor(contact: &Contact) -> Option<(PathBuf, Option<u32>)> {
    let survey = contact.survey.borrow().clone()?;
    Some((survey.project.clone()?, survey.facts.editor_pid))
}
