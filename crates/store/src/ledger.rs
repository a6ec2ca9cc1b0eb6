//! The ledger on either store.

use std::collections::BTreeMap;

use malla_fetch::ledger::{Account, Audit, Balance, Bill, Entry, Prices, Transfer, is_paid, settle};
use malla_fetch::trust::Watch;
use malla_fetch::{Settled, Settlement};
use malla_queue::{Error, GroupId, UnixMs};

use crate::rows::{Hands, Row, Rows, both, one, values};

/// Pages told in a transaction, by client: fetched, and from the cache.
#[derive(Debug, Default)]
pub(crate) struct Charges(BTreeMap<i64, (u64, u64)>);

impl Charges {
    pub(crate) fn told(&mut self, group: Option<i64>, status: u16, cached: bool) {
        if !is_paid(status) {
            return;
        }
        let (fetched, from_cache) = self.0.entry(group.unwrap_or(0)).or_default();
        if cached {
            *from_cache += 1;
        } else {
            *fetched += 1;
        }
    }
}

/// Settles a commit, last of all: everybody's commits meet in the house's account.
pub(crate) async fn pay<H: Hands>(
    hands: &mut H,
    prices: &Prices,
    watch: Option<&Watch>,
    settled: &[&Settled],
    charges: Charges,
) -> Result<(), H::Error> {
    if !prices.is_on() {
        return Ok(());
    }
    let mut bill = Bill { told: told(charges), ..Bill::default() };
    if let Some(watch) = watch.filter(|watch| !watch.house) {
        let pages = settled.iter().filter(|settled| is_brought(&settled.outcome)).count() as u64;
        if pages > 0 {
            let escrow = Account::Escrow(watch.party.device);
            bill.in_escrow = locked_balance(hands, &escrow).await?;
            bill.brought = Some((watch.party.device, watch.party.owner.clone(), pages));
        }
    }
    post(hands, settle(prices, bill), "pages", None).await
}

/// What answers from the cache cost.
pub(crate) async fn pay_cached<H: Hands>(hands: &mut H, prices: &Prices, charges: Charges) -> Result<(), H::Error> {
    if prices.cached == 0 {
        return Ok(());
    }
    post(hands, settle(prices, Bill { told: told(charges), ..Bill::default() }), "cached", None).await
}

fn told(charges: Charges) -> Vec<(Option<GroupId>, u64, u64)> {
    let client = |group: i64| (group != 0).then_some(GroupId(group));
    charges.0.into_iter().map(|(group, (fetched, cached))| (client(group), fetched, cached)).collect()
}

/// Whether a device is paid for it. A page that is still the same has been asked for too.
fn is_brought(outcome: &Settlement) -> bool {
    match outcome {
        Settlement::Page { page, .. } => is_paid(page.status),
        Settlement::Unchanged { .. } => true,
        // Checks are work like any other: who does them cannot tell them apart.
        Settlement::Checked(settling) => settling.page.as_ref().is_some_and(|page| is_paid(page.status)),
        _ => false,
    }
}

pub(crate) async fn post<H: Hands>(
    hands: &mut H,
    transfer: Transfer,
    what: &str,
    note: Option<&str>,
) -> Result<(), H::Error> {
    let mut number = None;
    let now = hands.now();
    for posting in transfer.postings() {
        let (id, account) = (hands.new_id().await?, posting.account.to_string());
        let transfer = *number.get_or_insert(id);
        let entry = values![id, transfer, now, account.as_str(), posting.amount, posting.pages, what, note];
        hands.run(both!("ledger/add_entry"), entry).await?;
        hands.run(both!("ledger/post"), values![account, posting.amount, now]).await?;
    }
    Ok(())
}

/// Nobody else changes it until the transaction ends.
pub(crate) async fn locked_balance<H: Hands>(hands: &mut H, account: &Account) -> Result<i64, H::Error> {
    let found = hands.locked(both!("ledger/balance"), values![account.to_string()]).await?;
    Ok(found.first().map(|row| row[0].int()).transpose()?.unwrap_or(0))
}

/// With when it was last touched.
pub(crate) async fn balance<R: Rows>(rows: &mut R, account: &Account) -> Result<Option<(i64, UnixMs)>, R::Error> {
    let row = one(rows, both!("ledger/balance"), values![account.to_string()]).await?;
    Ok(row.map(|row| Ok::<_, Error>((row[0].int()?, UnixMs(row[1].int()?)))).transpose()?)
}

pub(crate) async fn balances<R: Rows>(rows: &mut R) -> Result<Vec<Balance>, R::Error> {
    let found = rows.rows(both!("ledger/balances"), Vec::new()).await?;
    let read = |row: &Row| {
        let account = row[0].text()?.to_owned();
        Ok::<_, Error>(Balance { account, micro: row[1].int()?, touched_at: UnixMs(row[2].int()?) })
    };
    Ok(found.iter().map(read).collect::<Result<_, _>>()?)
}

pub(crate) async fn statement<R: Rows>(
    rows: &mut R,
    account: &Account,
    below: Option<i64>,
    limit: usize,
) -> Result<Vec<Entry>, R::Error> {
    let params = values![account.to_string(), below.unwrap_or(i64::MAX), limit as u64];
    let found = rows.rows(both!("ledger/statement"), params).await?;
    let read = |row: &Row| {
        Ok::<_, Error>(Entry {
            id: row[0].int()?,
            transfer: row[1].int()?,
            at: UnixMs(row[2].int()?),
            account: row[3].text()?.to_owned(),
            micro: row[4].int()?,
            pages: u64::try_from(row[5].int()?).unwrap_or(0),
            what: row[6].text()?.to_owned(),
            note: row[7].maybe_text(),
        })
    };
    Ok(found.iter().map(read).collect::<Result<_, _>>()?)
}

pub(crate) async fn top_up<H: Hands>(
    hands: &mut H,
    account: &Account,
    micro: i64,
    note: &str,
) -> Result<Balance, H::Error> {
    let note = (!note.is_empty()).then_some(note);
    post(hands, Transfer::between(Account::World, account.clone(), micro), "topup", note).await?;
    let (balance, touched_at) = balance(hands, account).await?.unwrap_or((0, hands.now()));
    Ok(Balance { account: account.to_string(), micro: balance, touched_at })
}

/// Gives back the pledges of devices that brought nothing for a while and that nobody accuses.
pub(crate) async fn release<H: Hands>(hands: &mut H, before: UnixMs) -> Result<u64, H::Error> {
    let mut released = 0;
    for row in hands.locked(both!("ledger/idle_escrows"), values![before]).await? {
        let (name, held) = (row[0].text()?.to_owned(), row[1].int()?);
        let Account::Escrow(device) = name.parse::<Account>()? else { continue };
        let accused = one(hands, both!("ledger/open_checks"), values![device]).await?;
        if accused.is_some_and(|row| row[0].maybe_int() != Some(0)) {
            continue;
        }
        let owner = one(hands, both!("trust/device"), values![device]).await?;
        // Of a device that is forgotten nobody knows whose it was.
        let to = match owner {
            Some(row) => Account::User(row[1].text()?.to_owned()),
            None => Account::House,
        };
        post(hands, Transfer::between(Account::Escrow(device), to, held), "release", None).await?;
        released += 1;
    }
    Ok(released)
}

/// Drops old transfers; what they came to stays with the accounts.
pub(crate) async fn carry_forward<H: Hands>(hands: &mut H, before: UnixMs, limit: usize) -> Result<u64, H::Error> {
    let last = malla_queue::TaskId::first_at(before).0;
    let transfers = hands.rows(both!("ledger/old_transfers"), values![last, before, limit as u64]).await?;
    let mut gone = 0;
    for row in transfers {
        let transfer = row[0].int()?;
        let mut entries = hands.rows(both!("ledger/oldest"), values![transfer]).await?;
        entries.sort_by_key(|row| row[1].maybe_text());
        for row in &entries {
            hands.run(both!("ledger/carry"), values![row[2].int()?, row[1].text()?]).await?;
        }
        gone += hands.run(both!("ledger/drop_transfer"), values![transfer]).await?;
    }
    Ok(gone)
}

pub(crate) async fn audit<R: Rows>(rows: &mut R) -> Result<Audit, R::Error> {
    let count = |value: i64| u64::try_from(value).unwrap_or(0);
    let missing = || Error::Internal("a sum is missing".into());
    let sums = one(rows, both!("ledger/sum"), Vec::new()).await?.ok_or_else(missing)?;
    let entries = one(rows, both!("ledger/entries"), Vec::new()).await?.ok_or_else(missing)?;
    let accounts = rows.rows(both!("ledger/wrong_accounts"), Vec::new()).await?;
    let transfers = rows.rows(both!("ledger/wrong_transfers"), Vec::new()).await?;
    Ok(Audit {
        sum: sums[0].int()?,
        accounts: count(sums[1].int()?),
        entries: count(entries[0].int()?),
        pages_charged: count(entries[1].int()?),
        pages_paid: count(entries[2].int()?),
        wrong_accounts: accounts.iter().filter_map(|row| row[0].maybe_text()).collect(),
        wrong_transfers: transfers.iter().filter_map(|row| row[0].maybe_int()).collect(),
    })
}
