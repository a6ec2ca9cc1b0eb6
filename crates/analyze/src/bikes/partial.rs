//! What batches of trips add up to. Sums of integers only, so that any order and any grouping give the same.

use crate::lines::Lines;
use crate::wire::{Damaged, Reader, Writer};

/// Trips and what they add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    pub(super) trips: u64,
    pub(super) total: u128,
}

/// Trips of a city. Lists are sorted by their first number and have no empty entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Partial {
    /// By rainy day: durations in microseconds.
    pub(super) rain: Vec<(i32, Sum)>,
    /// By the name's number of the station of departure: trips in the base year, and in the compared one.
    pub(super) year: Vec<(u32, [u64; 2])>,
    /// By the name's number of the station of arrival: distances in millimetres.
    pub(super) city: Vec<(u32, Sum)>,
    /// Trips that an answer had to do without: rain, year, city.
    pub(super) left_out: [u64; 3],
    pub lines: Lines,
}

impl crate::analysis::Partial for Partial {
    fn merge(&mut self, other: Self) {
        join(&mut self.rain, other.rain, add);
        join(&mut self.year, other.year, |[base, compared], more| {
            *base += more[0];
            *compared += more[1];
        });
        join(&mut self.city, other.city, add);
        self.left_out.iter_mut().zip(other.left_out).for_each(|(sum, more)| *sum += more);
        self.lines.merge(other.lines);
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.left_out.iter().for_each(|count| writer.number(*count));
        self.lines.write(&mut writer);
        write(&mut writer, self.rain.iter().map(|(day, sum)| (i64::from(*day), [sum.trips.into(), sum.total])));
        let two = |counts: [u64; 2]| counts.map(u128::from);
        write(&mut writer, self.year.iter().map(|(name, counts)| (i64::from(*name), two(*counts))));
        write(&mut writer, self.city.iter().map(|(name, sum)| (i64::from(*name), [sum.trips.into(), sum.total])));
        writer.end()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        fn small<T: TryFrom<u128>>(number: u128) -> Result<T, Damaged> {
            T::try_from(number).map_err(|_| Damaged)
        }
        let mut reader = Reader::new(bytes);
        let left_out = [reader.small()?, reader.small()?, reader.small()?];
        let lines = Lines::read(&mut reader)?;
        let sum = |[trips, total]: [u128; 2]| Ok(Sum { trips: small(trips)?, total });
        let partial = Self {
            rain: read(&mut reader, sum)?,
            year: read(&mut reader, |[base, compared]| Ok([small(base)?, small(compared)?]))?,
            city: read(&mut reader, sum)?,
            left_out,
            lines,
        };
        reader.end()?;
        Ok(partial)
    }

    fn lines(&self) -> &Lines {
        &self.lines
    }
}

fn add(sum: &mut Sum, more: Sum) {
    sum.trips += more.trips;
    sum.total += more.total;
}

/// Adds a sorted list to another.
fn join<K: Ord + Copy, V: Copy>(list: &mut Vec<(K, V)>, other: Vec<(K, V)>, add: impl Fn(&mut V, V)) {
    if list.is_empty() {
        *list = other;
        return;
    }
    let mut joined: Vec<(K, V)> = Vec::with_capacity(list.len().max(other.len()));
    let (mut ours, mut theirs) = (std::mem::take(list).into_iter().peekable(), other.into_iter().peekable());
    loop {
        let next = match (ours.peek(), theirs.peek()) {
            (Some((our, _)), Some((their, _))) if our <= their => ours.next(),
            (Some(_), None) => ours.next(),
            (_, Some(_)) => theirs.next(),
            (None, None) => break,
        };
        let Some((key, value)) = next else { break };
        match joined.last_mut().filter(|(last, _)| *last == key) {
            Some((_, sum)) => add(sum, value),
            None => joined.push((key, value)),
        }
    }
    *list = joined;
}

/// Keys as steps from one to the next.
fn write(writer: &mut Writer, list: impl ExactSizeIterator<Item = (i64, [u128; 2])>) {
    writer.number(list.len() as u64);
    let mut last = 0;
    for (key, values) in list {
        writer.signed(key - last);
        values.iter().for_each(|value| writer.number(*value));
        last = key;
    }
}

fn read<K: TryFrom<i64>, V>(
    reader: &mut Reader<'_>,
    value: impl Fn([u128; 2]) -> Result<V, Damaged>,
) -> Result<Vec<(K, V)>, Damaged> {
    let mut last = 0_i64;
    reader.list(|reader| {
        last = last.checked_add(reader.signed()?).ok_or(Damaged)?;
        let key = K::try_from(last).map_err(|_| Damaged)?;
        Ok((key, value([reader.number()?, reader.number()?])?))
    })
}
