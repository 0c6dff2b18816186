//! The parts of a link that outlive its actors: the contact with the editor, its calls, its catalogue, and which project is wanted.
//!
//! ```text
//! links ──── the links of this process
//! └ parts ── one link: all of the following
//!
//! port ───── what a session sees of the links, says to them and asks them; it has no other way in
//! ├ hub ──── the same to the links of a hub, in another process
//! └ told ─── what the hub tells of its links
//!
//! project ── which project is wanted; tells the calls
//! └ calls ── carries out the ledger's decisions
//!   ├ answers ── results and verdicts: told to the session, kept, recorded
//!   ├ audit ──── the record of calls
//!   ├ tools ──── the published catalogue, and which of its tools may be called
//!   └ contact ── the connection, its exchange, and the last survey
//!     └ ledger ─ the calls themselves, behind a lock
//! ```

mod answers;
mod audit;
mod calls;
mod contact;
mod editors;
mod exchange;
mod guests;
mod hub;
mod ledger;
mod links;
mod parts;
mod picture;
mod port;
mod project;
mod records;
mod remote;
mod standing;
mod told;
mod tools;

pub use self::answers::Answers;
pub use self::audit::AuditTrail;
pub use self::calls::{Calls, TakenIn};
pub use self::contact::Contact;
pub use self::editors::editors_changed;
pub use self::exchange::SharedExchange;
pub use self::guests::{GuestAnswer, GuestCall};
pub use self::hub::{Answered, Embedded, HubPort};
pub use self::ledger::SharedLedger;
pub use self::links::{Links, TooManyLinks};
pub use self::parts::Link;
pub use self::picture::{LinkPicture, SharedPicture};
pub use self::port::{Calling, Port, Ports};
pub use self::project::{Destination, Project};
pub use self::records::{Recording, Resumed, Unsent};
pub use self::standing::{CallsNow, LinkStatus, Standing, Standings};
pub use self::tools::{Published, Tools, Visible};
