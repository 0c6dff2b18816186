//! Searches the whole graph of states. Finds the shortest way to a state, and the states from which a kind of state cannot be
//! reached any more. The checker's own `eventually` does not see cycles; this search does.

use std::collections::{HashMap, HashSet, VecDeque};

use stateright::Model;

use super::action::{Action, describe};
use super::setting::Setting;
use super::world::World;

/// The states and steps of a setting. A state is a number: states are counted in the order in which the search found them.
#[derive(Debug)]
pub struct Graph {
    setting: Setting,
    /// From which state each state was first reached, and by which action; `None` for a start state.
    via: Vec<Option<(u32, Action)>>,
    /// Number of steps from a start state to each state.
    depth: Vec<u16>,
    /// The steps, as (from, to).
    steps: Vec<(u32, u32)>,
    /// The answers to the questions for each state: one bit for each question.
    answers: Vec<u8>,
    /// Digests of the bridge and its connections' exchanges ([`World::parts`]).
    parts: HashSet<u64>,
    starts: Vec<World>,
    start_of: HashMap<u32, usize>,
}

/// A question about a state.
pub type Question = fn(&World) -> bool;

impl Graph {
    /// Searches all states, and asks up to eight questions about each.
    ///
    /// # Panics
    /// If there are more than `most` states.
    pub fn walk(setting: &Setting, questions: &[Question], most: usize) -> Self {
        Self::search(setting, questions, most, |_| false).0
    }

    /// Returns the shortest way to a state that breaks a promise, one line for each event; `None` if no state breaks it.
    ///
    /// # Panics
    /// If the model has no such promise, or there are more than `most` states.
    pub fn first_breach(setting: &Setting, promise: &'static str, most: usize) -> Option<Vec<String>> {
        let holds = setting.property(promise).condition;
        let (graph, found) = Self::search(setting, &[], most, |world| !holds(setting, world));
        found.map(|state| graph.trace(state))
    }

    fn search(
        setting: &Setting,
        questions: &[Question],
        most: usize,
        wanted: impl Fn(&World) -> bool,
    ) -> (Self, Option<u32>) {
        let mut graph = Self {
            setting: setting.clone(),
            via: Vec::new(),
            depth: Vec::new(),
            steps: Vec::new(),
            answers: Vec::new(),
            parts: HashSet::new(),
            starts: setting.init_states(),
            start_of: HashMap::new(),
        };
        let mut known: HashMap<u64, u32> = HashMap::new();
        let mut front = VecDeque::new();
        for (start, world) in graph.starts.clone().into_iter().enumerate() {
            let number = graph.add(&world, None, 0, questions);
            known.insert(world.digest(), number);
            graph.start_of.insert(number, start);
            front.push_back((number, world));
        }
        let mut actions = Vec::new();
        while let Some((from, world)) = front.pop_front() {
            setting.actions(&world, &mut actions);
            for action in actions.drain(..) {
                let Some(next) = setting.next_state(&world, action) else { continue };
                let digest = next.digest();
                let number = match known.get(&digest) {
                    Some(number) => *number,
                    None => {
                        let depth = graph.depth[from as usize] + 1;
                        let number = graph.add(&next, Some((from, action)), depth, questions);
                        if wanted(&next) {
                            return (graph, Some(number));
                        }
                        known.insert(digest, number);
                        front.push_back((number, next));
                        number
                    }
                };
                graph.steps.push((from, number));
            }
            assert!(graph.via.len() <= most, "more than {most} states: {setting:?}");
        }
        (graph, None)
    }

    fn add(&mut self, world: &World, via: Option<(u32, Action)>, depth: u16, questions: &[Question]) -> u32 {
        let number = u32::try_from(self.via.len()).unwrap_or(u32::MAX);
        self.via.push(via);
        self.depth.push(depth);
        let bits = questions.iter().enumerate().map(|(bit, asks)| u8::from(asks(world)) << bit);
        self.answers.push(bits.sum());
        self.parts.insert(world.parts());
        number
    }

    /// Returns the number of states.
    pub fn states(&self) -> usize {
        self.via.len()
    }

    /// Number of different configurations of the bridge and its connections' exchanges.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Number of steps between states.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Number of steps to the state that is farthest from a start state.
    pub fn depth(&self) -> u16 {
        self.depth.iter().copied().max().unwrap_or_default()
    }

    /// Whether any state answers yes to the question with this number.
    pub fn meets(&self, question: u8) -> bool {
        (0..self.states()).any(|state| self.says(state, question))
    }

    fn says(&self, state: usize, question: u8) -> bool {
        self.answers[state] & (1 << question) != 0
    }

    /// Returns the states that answer yes to question `of` and from which no state can be reached that answers yes to `goal`.
    pub fn cut_off(&self, of: u8, goal: u8) -> Vec<u32> {
        let count = self.states();
        let mut first = vec![0u32; count + 1];
        for (_, to) in &self.steps {
            first[*to as usize + 1] += 1;
        }
        for state in 0..count {
            first[state + 1] += first[state];
        }
        let mut place = first.clone();
        let mut back = vec![0u32; self.steps.len()];
        for (from, to) in &self.steps {
            let at = &mut place[*to as usize];
            back[*at as usize] = *from;
            *at += 1;
        }
        let mut reaches: Vec<bool> = (0..count).map(|state| self.says(state, goal)).collect();
        let mut front: Vec<usize> = (0..count).filter(|state| reaches[*state]).collect();
        while let Some(state) = front.pop() {
            for from in &back[first[state] as usize..first[state + 1] as usize] {
                let from = *from as usize;
                if !reaches[from] {
                    reaches[from] = true;
                    front.push(from);
                }
            }
        }
        let lost = (0..count).filter(|state| self.says(*state, of) && !reaches[*state]);
        lost.filter_map(|state| u32::try_from(state).ok()).collect()
    }

    /// Returns the shortest way to a state, one line for each event.
    pub fn trace(&self, state: u32) -> Vec<String> {
        let mut actions = Vec::new();
        let mut at = state;
        while let Some((from, action)) = self.via[at as usize] {
            actions.push(action);
            at = from;
        }
        actions.reverse();
        let start = self.start_of.get(&at).and_then(|start| self.starts.get(*start));
        start.map(|start| tell(&self.setting, start, &actions)).unwrap_or_default()
    }
}

/// Describes a way through the states, one line for each event: the event, and the world after it.
pub fn tell(setting: &Setting, start: &World, actions: &[Action]) -> Vec<String> {
    let mut lines = vec![format!(" 0. {:<50} {start}", "start")];
    let mut world = start.clone();
    for (number, action) in actions.iter().enumerate() {
        let what = describe(&world, *action);
        let Some(next) = setting.next_state(&world, *action) else { break };
        world = next;
        lines.push(format!("{:>2}. {what:<50} {world}", number + 1));
    }
    lines
}
