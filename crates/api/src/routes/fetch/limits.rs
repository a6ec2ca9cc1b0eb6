//! What a client may ask for, as this API says it.

use malla_fetch::Answered;
use malla_fetch::door::Turned;
use malla_protocol::Code;
use malla_queue::GroupId;

use crate::App;
use crate::problem::Refusal;

impl From<Turned> for Refusal {
    fn from(turned: Turned) -> Self {
        match turned {
            Turned::TooMuch(over) => Refusal::new(Code::TooMany, over.why).retry_after_ms(over.after_ms),
            Turned::NoCredit(why) => Refusal::new(Code::CreditUsedUp, why),
            Turned::Failed(error) => error.into(),
        }
    }
}

/// Counts what a client is given.
pub(super) async fn count_bytes(app: &App, group: Option<GroupId>, answers: &[Answered]) {
    app.door.gave(group, answers.iter().map(|answer| answer.page.body.bytes).sum()).await;
}
