//! The chaos suite. See `README.md` beside this file.
