//! Who pays whom: clients for pages they are told, devices' users for pages they brought, with a part held back until
//! results have aged. Whole micro-credits; what one account loses others gain, so the sum over all is zero at any moment.

use async_trait::async_trait;
use malla_queue::{Act, Error, GroupId, Result, UnixMs};
use serde::{Deserialize, Serialize};

/// Micro-credits in a credit.
pub const MICRO: i64 = 1_000_000;
/// The owner of devices that are part of a server.
pub const HOUSE: &str = "malla";

/// What the operator decides about money. All zero: nothing is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prices {
    /// What a client pays for a page that was fetched, in micro-credits.
    pub page: i64,
    /// And for one from the cache.
    pub cached: i64,
    /// Of a hundred parts of a page's price, those that go to the device's user.
    pub share: i64,
    /// Pages whose pay a device leaves in escrow.
    pub escrow_pages: i64,
}

impl Prices {
    pub fn is_on(&self) -> bool {
        self.page > 0 || self.cached > 0
    }

    /// What a device's user gets for pages.
    pub fn pay(&self, pages: u64) -> i64 {
        let one = self.page.saturating_mul(self.share) / 100;
        one.saturating_mul(i64::try_from(pages).unwrap_or(i64::MAX))
    }

    /// Of this pay, what goes to escrow that holds so much already.
    pub fn held_back(&self, pay: i64, in_escrow: i64) -> i64 {
        let target = self.pay(u64::try_from(self.escrow_pages).unwrap_or(0));
        pay.min((target - in_escrow).max(0))
    }
}

/// Whether an answer with this status is paid for: a site has said something.
pub fn is_paid(status: u16) -> bool {
    (100..580).contains(&status)
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// A group that has pages fetched; `None`: who has no group.
    Client(Option<GroupId>),
    House,
    /// Somebody who lends devices, as the audit log names them: `user:ana`, `token:deploy`.
    User(String),
    /// What a device leaves as a pledge.
    Escrow(i64),
    /// Where credit comes from and goes to.
    World,
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Account::Client(group) => write!(f, "client:{}", group.map_or(0, |group| group.0)),
            Account::House => f.write_str("house"),
            Account::User(name) if name.starts_with("user:") => f.write_str(name),
            Account::User(name) => write!(f, "user:{name}"),
            Account::Escrow(device) => write!(f, "escrow:{device}"),
            Account::World => f.write_str("world"),
        }
    }
}

impl std::str::FromStr for Account {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0);
        let account = match text.split_once(':') {
            None if text == "house" => Some(Account::House),
            None if text == "world" => Some(Account::World),
            Some(("client", "0")) => Some(Account::Client(None)),
            Some(("client", id)) => number(id).map(|id| Account::Client(Some(GroupId(id)))),
            Some(("user", name)) if name.contains(':') => Some(Account::User(name.to_owned())),
            Some(("user", name)) if !name.is_empty() => Some(Account::User(text.to_owned())),
            Some(("escrow", id)) => number(id).map(Account::Escrow),
            _ => None,
        };
        let hint = "accounts are client:N, user:NAME, escrow:N, house and world";
        account.ok_or_else(|| Error::Invalid(format!("\"{text}\" is not an account: {hint}")))
    }
}

/// One side of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    pub account: Account,
    pub amount: i64,
    /// Pages it is for.
    pub pages: u64,
}

/// Postings of one transfer, which sum up to zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transfer(Vec<Posting>);

impl Transfer {
    fn add(&mut self, account: Account, amount: i64, pages: u64) {
        if amount != 0 {
            self.0.push(Posting { account, amount, pages });
        }
    }

    /// In the order of the accounts' names, so that nobody waits for another in a circle.
    pub fn postings(mut self) -> Vec<Posting> {
        assert_eq!(self.0.iter().map(|posting| posting.amount).sum::<i64>(), 0, "a transfer sums up to zero");
        self.0.sort_by_key(|posting| posting.account.to_string());
        self.0
    }

    /// From one account to another.
    pub fn between(from: Account, to: Account, amount: i64) -> Self {
        let mut transfer = Self::default();
        transfer.add(from, -amount, 0);
        transfer.add(to, amount, 0);
        transfer
    }
}

/// What a commit is paid for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bill {
    /// Pages told, by client: fetched and from the cache.
    pub told: Vec<(Option<GroupId>, u64, u64)>,
    /// Who brought how many pages, if not the house.
    pub brought: Option<(i64, String, u64)>,
    pub in_escrow: i64,
}

/// Who pays and gets what for a commit: one posting a client, one for the house, and one or two for the device's user.
pub fn settle(prices: &Prices, bill: Bill) -> Transfer {
    let (mut transfer, mut left) = (Transfer::default(), 0);
    let times = |price: i64, pages: u64| price.saturating_mul(i64::try_from(pages).unwrap_or(i64::MAX));
    for (client, fetched, cached) in bill.told {
        let amount = times(prices.page, fetched) + times(prices.cached, cached);
        transfer.add(Account::Client(client), -amount, fetched + cached);
        left += amount;
    }
    if let Some((device, owner, pages)) = bill.brought {
        let pay = prices.pay(pages);
        let held = prices.held_back(pay, bill.in_escrow);
        transfer.add(Account::Escrow(device), held, if held > 0 { pages } else { 0 });
        transfer.add(Account::User(owner), pay - held, if held > 0 { 0 } else { pages });
        left -= pay;
    }
    transfer.add(Account::House, left, 0);
    transfer
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    pub account: String,
    pub micro: i64,
    pub touched_at: UnixMs,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub id: i64,
    pub transfer: i64,
    pub at: UnixMs,
    pub account: String,
    pub micro: i64,
    pub pages: u64,
    /// `pages`, `cached`, `topup`, `release`, `forfeit`, `restore`.
    pub what: String,
    pub note: Option<String>,
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Audit {
    /// Over all accounts: zero.
    pub sum: i64,
    pub accounts: u64,
    pub entries: u64,
    /// Pages that clients and devices' users were charged and paid for.
    pub pages_charged: u64,
    pub pages_paid: u64,
    /// Accounts whose balance is not what their entries sum up to.
    pub wrong_accounts: Vec<String>,
    /// Transfers that do not sum up to zero.
    pub wrong_transfers: Vec<i64>,
}

impl Audit {
    pub fn is_good(&self) -> bool {
        self.sum == 0 && self.wrong_accounts.is_empty() && self.wrong_transfers.is_empty()
    }
}

/// The verbs of the ledger. Pages are settled in [`Fetch::commit`](crate::Fetch::commit).
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// In the order of their names.
    async fn balances(&self) -> Result<Vec<Balance>>;
    async fn balance(&self, account: &Account) -> Result<i64>;
    /// Newest first.
    async fn statement(&self, account: &Account, below: Option<i64>, limit: usize) -> Result<Vec<Entry>>;
    /// Gives credit to an account, or takes it (a payout) if `micro` is negative.
    async fn top_up(&self, account: Account, micro: i64, note: String, act: Act) -> Result<Balance>;
    /// Gives back the pledge of devices that nobody has accused and that brought nothing since `before`. Returns how many.
    async fn release(&self, before: UnixMs) -> Result<u64>;
    /// Carries entries from before that time forward into their accounts, one bounded step. Returns how many went.
    async fn carry_forward(&self, before: UnixMs, limit: usize) -> Result<u64>;
    async fn audit(&self) -> Result<Audit>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices { page: 1_000, cached: 100, share: 70, escrow_pages: 49 };

    fn amounts(transfer: Transfer) -> Vec<(String, i64)> {
        transfer.postings().into_iter().map(|posting| (posting.account.to_string(), posting.amount)).collect()
    }

    #[test]
    fn each_client_pays_and_the_device_is_paid_once() {
        let told = vec![(Some(GroupId(1)), 10, 0), (Some(GroupId(2)), 4, 3)];
        let bill = Bill { told, brought: Some((7, "ana".into(), 10)), in_escrow: 0 };
        let expected = [("client:1", -10_000), ("client:2", -4_300), ("escrow:7", 7_000), ("house", 7_300)];
        assert_eq!(amounts(settle(&PRICES, bill)), expected.map(|(name, amount)| (name.to_owned(), amount)));
    }

    #[test]
    fn the_pledge_is_filled_first_and_the_rest_is_paid_out() {
        for (in_escrow, held, paid) in [(0, 700, 0), (33_900, 400, 300), (34_300, 0, 700), (99_999, 0, 700)] {
            let bill = Bill { told: vec![(None, 1, 0)], brought: Some((7, "ana".into(), 1)), in_escrow };
            let found = amounts(settle(&PRICES, bill));
            let of = |name: &str| found.iter().find(|(known, _)| known == name).map_or(0, |(_, amount)| *amount);
            assert_eq!((of("escrow:7"), of("user:ana"), of("client:0"), of("house")), (held, paid, -1_000, 300));
        }
    }

    #[test]
    fn whatever_is_settled_sums_up_to_zero() {
        for pages in [0, 1, 7, 1_000_000_007] {
            for share in [0, 33, 70, 100] {
                let prices = Prices { share, page: 7, ..PRICES };
                let told = vec![(None, pages, pages / 2), (Some(GroupId(3)), 5, 0)];
                let bill = Bill { told, brought: Some((1, "ana".into(), pages)), in_escrow: 3 };
                assert_eq!(settle(&prices, bill).postings().iter().map(|posting| posting.amount).sum::<i64>(), 0);
            }
        }
    }

    #[test]
    fn accounts_are_read_as_they_are_written() {
        for text in ["client:0", "client:12", "house", "user:ana", "user:token:deploy", "escrow:3", "world"] {
            assert_eq!(text.parse::<Account>().expect("an account").to_string(), text);
        }
        for text in ["", "client", "client:-1", "user:", "bank"] {
            assert!(text.parse::<Account>().is_err(), "{text}");
        }
    }
}
