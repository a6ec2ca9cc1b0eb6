//! Credit: balances, statements and top-ups. Amounts are micro-credits: a credit has a million.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BalanceView {
    /// `client:N` (of a group), `user:NAME`, `escrow:N` (of a device), `house` or `world`.
    pub account: String,
    /// Whose it is, in words.
    pub name: String,
    pub micro: i64,
    pub touched_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntryView {
    pub id: i64,
    /// Entries of one transfer sum up to zero.
    pub transfer: i64,
    pub at: String,
    pub account: String,
    pub micro: i64,
    /// Pages it is for.
    pub pages: u64,
    /// `pages`, `cached`, `topup`, `release`, `forfeit` or `restore`.
    pub what: String,
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StatementQuery {
    #[serde(default)]
    #[param(required = true)]
    pub account: String,
    /// `csv` for a file of all entries; JSON if not said.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    #[param(rename = "as")]
    pub form: Option<String>,
}

/// Credit for an account; a negative amount is paid out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    pub account: String,
    pub micro: i64,
    #[serde(default)]
    pub note: String,
}

/// What an audit found: good if the sum is zero and nothing is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LedgerAudit {
    pub good: bool,
    /// Over all accounts.
    pub sum: i64,
    pub accounts: u64,
    pub entries: u64,
    /// Pages that clients were charged for, and that devices' users were paid for.
    pub pages_charged: u64,
    pub pages_paid: u64,
    pub wrong_accounts: Vec<String>,
    pub wrong_transfers: Vec<i64>,
}
