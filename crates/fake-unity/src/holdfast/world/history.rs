//! Undo and redo, by states of what is open.

use std::collections::VecDeque;

use super::Open;
use crate::limits::UNDO_MAX;

/// Steps, each with its name and the state at its other end.
#[derive(Default)]
pub(super) struct History {
    past: VecDeque<(String, Open)>,
    future: Vec<(String, Open)>,
    /// Whether changes belong to a step that began before them.
    pub(super) grouped: bool,
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

    pub(super) fn push(&mut self, name: &str, before: Open) {
        self.future.clear();
        self.past.push_back((name.to_owned(), before));
        if self.past.len() > UNDO_MAX {
            self.past.pop_front();
        }
    }

    /// Undoes a step from what is open `now`, or does one again. Returns its name; `None` if there is no such step.
    pub(super) fn step(&mut self, undo: bool, now: &mut Open) -> Option<String> {
        let (name, state) = if undo { self.past.pop_back() } else { self.future.pop() }?;
        let left = std::mem::replace(now, state);
        match undo {
            true => self.future.push((name.clone(), left)),
            false => self.past.push_back((name.clone(), left)),
        }
        Some(name)
    }
}
