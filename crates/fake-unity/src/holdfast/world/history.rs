//! Undo and redo, by states of what is open.

use std::collections::VecDeque;

use super::{Open, Stop, World};
use crate::limits::{SCENE_LEVELS_MAX, SCENES_MAX_BYTES, UNDO_MAX};

/// Steps, each with its name and the state at its other end.
#[derive(Default)]
pub(super) struct History {
    past: VecDeque<(String, Open)>,
    future: Vec<(String, Open)>,
    /// Whether changes belong to a step that began before them.
    grouped: bool,
}

impl History {
    pub(super) fn clear(&mut self) {
        *self = Self { grouped: self.grouped, ..Self::default() };
    }

    pub(super) fn len(&self) -> usize {
        self.past.len()
    }

    pub(super) fn forget_after(&mut self, steps: usize) {
        self.past.truncate(steps);
        self.future.clear();
    }

    fn push(&mut self, name: &str, before: Open) {
        self.future.clear();
        self.past.push_back((name.to_owned(), before));
        if self.past.len() > UNDO_MAX {
            self.past.pop_front();
        }
    }
}

impl World {
    /// Makes a change as one step of undo. If it fails, or what is open becomes too large, nothing is changed.
    pub(super) fn change<T>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let before = self.open.clone();
        let done = change(self).and_then(|done| self.open.check().map(|()| done));
        match &done {
            Err(_) => self.open = before,
            Ok(_) if !self.history.grouped => self.history.push(&format!("AI: {name}"), before),
            Ok(_) => {}
        }
        done
    }

    /// Makes several calls, which are undone in one step.
    pub(crate) fn begin_group(&mut self) -> Open {
        self.history.grouped = true;
        self.open.clone()
    }

    /// Ends the step that began with `before`.
    pub(crate) fn end_group(&mut self, name: &str, before: Open) {
        self.history.grouped = false;
        // Scenes that were opened meanwhile are no step.
        let paths = |open: &Open| open.scenes.iter().map(|scene| scene.path.clone()).collect::<Vec<_>>();
        if self.open != before
            && paths(&self.open) == paths(&before)
            && self.open.stage.is_some() == before.stage.is_some()
        {
            self.history.push(name, before);
        }
    }

    /// Undoes a step, or does one again. Returns its name; `None` if there is no such step.
    pub(super) fn step(&mut self, undo: bool) -> Option<String> {
        let (name, state) = if undo { self.history.past.pop_back() } else { self.history.future.pop() }?;
        let now = std::mem::replace(&mut self.open, state);
        // What a tool saved since then is not what is open now.
        self.open.scenes.iter_mut().for_each(|scene| scene.dirty = true);
        self.open.stage.iter_mut().for_each(|stage| stage.dirty = true);
        match undo {
            true => self.history.future.push((name.clone(), now)),
            false => self.history.past.push_back((name.clone(), now)),
        }
        Some(name)
    }
}

impl Open {
    /// Checks the bounds of what is open.
    fn check(&self) -> Result<(), Stop> {
        let lists = self.scenes.iter().map(|scene| &scene.roots).chain(self.stage.iter().map(|stage| &stage.roots));
        let mut bytes = 0;
        for roots in lists {
            if roots.iter().any(|root| root.levels() > SCENE_LEVELS_MAX) {
                return Stop::no(format!("The simulated editor has at most {SCENE_LEVELS_MAX} levels of GameObjects"));
            }
            bytes += serde_json::to_vec(roots).map_or(usize::MAX, |text| text.len());
        }
        if bytes > SCENES_MAX_BYTES {
            return Stop::no(format!("What is open in the simulated editor has at most {SCENES_MAX_BYTES} bytes"));
        }
        Ok(())
    }
}
