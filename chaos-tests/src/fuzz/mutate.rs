//! Deterministic mutations for the quick run. It uses no coverage data, but with a dictionary and splices it still
//! finds most of what coverage-guided fuzzing would.

/// The dictionary: byte strings that mean something to the decoders. Random bytes would seldom produce the longer ones.
const PIECES: [&[u8]; 56] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\0",
    b"\x1e",
    b"\xEF\xBB\xBF",
    b"\xC3\xA9",
    b"\xFF",
    b"null",
    b"true",
    b"false",
    b"-0",
    b"1",
    b"1e400",
    b"-1",
    b"65536",
    b"9007199254740993",
    b"18446744073709551616",
    b"\"\\ud800\"",
    b"\"\\u0069d\"",
    b"\"id\":1",
    b"\"id\":\"a\"",
    b"\"id\":null",
    b"\"id\":",
    b"\"jsonrpc\":\"2.0\"",
    b"\"method\":\"m\"",
    b"\"method\":",
    b"\"params\":{}",
    b"\"result\":{}",
    b"\"result\":",
    b"\"error\":{\"code\":1,\"message\":\"x\"}",
    b"\"error\":",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,",
    b"{}",
    b"[]",
    b"Content-Length: ",
    b"Content-Length: 2\r\n\r\n",
    b"content-length:0",
    b"X: y\r\n",
    b"\r\n\r\n",
    b"\"type\":",
    b"\"Tools\":[",
    b"\"name\":\"",
    b"\"Success\":false",
    b"\"RequestId\":\"r\"",
    b"\"TimeoutSeconds\":\"1e300\"",
    b"[[[[[[[[[[[[[[[[",
];

/// Produces the inputs of a quick run: always the same inputs for the same seed and corpus.
pub struct Mutator<'a> {
    corpus: &'a [Vec<u8>],
    dice: fastrand::Rng,
    max_bytes: usize,
}

impl<'a> Mutator<'a> {
    /// Creates a source of mutations of this corpus. Inputs have at most `max_bytes`.
    pub fn new(corpus: &'a [Vec<u8>], seed: u64, max_bytes: usize) -> Self {
        Self { corpus, dice: fastrand::Rng::with_seed(seed), max_bytes }
    }

    fn pick(&mut self) -> &'a [u8] {
        self.dice.choice(self.corpus).map_or(&[], Vec::as_slice)
    }

    /// Returns the next input: an entry of the corpus with one to eight changes, cut to `max_bytes`.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.pick().to_vec();
        for _ in 0..self.dice.u8(1..=8) {
            self.change(&mut input);
        }
        input.truncate(self.max_bytes);
        input
    }

    fn span(&mut self, input: &[u8], longest: usize) -> std::ops::Range<usize> {
        let from = self.dice.usize(..=input.len());
        from..input.len().min(from + self.dice.usize(..=longest))
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        match self.dice.u8(..8) {
            0 => {
                let at = self.dice.usize(..=input.len());
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.dice.u8(..8);
                }
            }
            1 => {
                let at = self.dice.usize(..=input.len());
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.dice.u8(..);
                }
            }
            2 => {
                let at = self.dice.usize(..=input.len());
                input.truncate(at);
            }
            3 => {
                let span = self.span(input, 32);
                input.drain(span);
            }
            4 => {
                let span = self.span(input, 64);
                let copy = input.get(span).unwrap_or_default().to_vec();
                let at = self.dice.usize(..=input.len());
                input.splice(at..at, copy);
            }
            5 => {
                let other = self.pick();
                let span = self.span(other, 256);
                let at = self.dice.usize(..=input.len());
                input.splice(at..at, other.get(span).unwrap_or_default().iter().copied());
            }
            _ => {
                let piece = self.dice.choice(PIECES).unwrap_or_default();
                let at = self.span(input, 4);
                input.splice(at, piece.iter().copied());
            }
        }
    }
}
