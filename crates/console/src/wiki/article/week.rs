//! At which hours of which days an article is edited.

use std::time::Duration;

use malla_queue::{Error, Scope};
use malla_wiki::pipeline::{Collection, Column, Combine, Compare, Expr, Field, Literal, Plan, Predicate, Stage, Type};
use malla_wiki::{Limits, Page as Article, Row, Value};

use super::charts::Week;
use crate::Console;

/// Hours with an edit: a longer history is told without its week.
const LIMITS: Limits = Limits { rows: 50_000, time: Duration::from_secs(3) };

/// Edits by hour and day; nothing if there are too many to count them here.
pub(super) async fn of(console: &Console, scope: &Scope, article: &Article) -> Result<Option<Week>, Error> {
    match console.wikis.ask(scope, &plan(article), LIMITS).await {
        Ok(rows) => Ok(Some(counted(&rows))),
        Err(Error::Invalid(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Edits of each hour of each date.
fn plan(article: &Article) -> Plan {
    let is = |column, number| Predicate::Is { column, compare: Compare::Eq, value: Literal::Whole(number) };
    let column = |name: &str, kind| Column { path: vec![name.to_owned()], kind };
    Plan {
        collection: Collection::Revisions,
        source: vec![Field::Wiki, Field::PageId, Field::Timestamp],
        stages: vec![
            Stage::Match(Predicate::All(vec![is(0, article.wiki.0), is(1, article.pageid.0)])),
            Stage::Group { keys: vec![Expr::DayText(2), Expr::Hour(2)], combined: vec![Combine::Count(1)] },
        ],
        columns: vec![column("day", Type::Text), column("hour", Type::Whole), column("edits", Type::Whole)],
    }
}

fn counted(rows: &[Row]) -> Week {
    let mut week = [[0; 24]; 7];
    for row in rows {
        let [Value::Text(day), Value::Whole(hour), Value::Whole(edits)] = row.as_slice() else { continue };
        let Ok(date) = day.parse::<jiff::civil::Date>() else { continue };
        let day = usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0);
        let place = usize::try_from(*hour).ok().and_then(|hour| week[day].get_mut(hour));
        if let Some(place) = place {
            *place += u64::try_from(*edits).unwrap_or(0);
        }
    }
    week
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_become_days_of_the_week() {
        let row = |day: &str, hour, edits| vec![Value::Text(day.into()), Value::Whole(hour), Value::Whole(edits)];
        let week =
            counted(&[row("2018-03-09", 12, 2), row("2018-03-16", 12, 3), row("2018-03-11", 0, 1), row("x", 1, 1)]);
        assert_eq!((week[4][12], week[6][0]), (5, 1));
        assert_eq!(week.iter().flatten().sum::<u64>(), 6);
    }
}
