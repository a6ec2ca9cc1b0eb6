//! A lane's place in the line of its room: when it may start something next.

/// Tasks a lane starts when it is its turn, if it has as many: each turn writes the lane, so a few tasks share the cost;
/// more would keep the others waiting.
pub(crate) const TURN: i32 = 4;

/// What decides it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneState {
    pub(crate) paused: bool,
    pub(crate) running: i64,
    pub(crate) ceiling: i64,
    pub(crate) next_start_at: i64,
    pub(crate) ready_at: Option<i64>,
}

impl LaneState {
    /// The lane's place, given the earliest time one of its waiting tasks may run. `turn` is the time of the change:
    /// a lane that was served, or that was full and has room again, queues up behind those that waited longer.
    pub(crate) fn place(&self, earliest: Option<i64>, turn: i64) -> Option<i64> {
        if self.paused || self.running >= self.ceiling {
            return None;
        }
        earliest.map(|earliest| earliest.max(self.next_start_at).max(turn))
    }

    /// How many tasks it may start now: as many as have a place, one if there is a gap between them; a lane for one
    /// task at a time gives a whole run to one holder.
    pub(crate) fn may_start(&self, gap_ms: i64, run_max: usize) -> usize {
        let places = usize::try_from(self.ceiling - self.running).unwrap_or(0);
        match (self.ceiling, self.running) {
            (1, 0) => run_max.max(1),
            _ if gap_ms > 0 => places.min(1),
            _ => places,
        }
    }
}

/// When a lane may start next after its gap was changed: the gap that already runs is shortened or lengthened with it;
/// a rest that a site asked for stays.
pub(crate) fn regapped(next_start_at: i64, gap_ms: i64, new_gap_ms: i64, now: i64) -> i64 {
    let left = next_start_at - now;
    if left > 0 && left <= gap_ms { next_start_at - gap_ms + new_gap_ms } else { next_start_at }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANE: LaneState = LaneState { paused: false, running: 0, ceiling: 1, next_start_at: 50, ready_at: None };

    #[test]
    fn a_lane_stands_where_its_task_its_gap_and_its_turn_allow() {
        assert_eq!(LANE.place(Some(10), 20), Some(50));
        assert_eq!(LANE.place(Some(60), 20), Some(60));
        assert_eq!(LANE.place(Some(10), 70), Some(70));
    }

    #[test]
    fn an_empty_a_full_and_a_paused_lane_stand_nowhere() {
        assert_eq!(LANE.place(None, 0), None);
        assert_eq!(LaneState { running: 1, ..LANE }.place(Some(1), 0), None);
        assert_eq!(LaneState { paused: true, ..LANE }.place(Some(1), 0), None);
    }

    #[test]
    fn a_lane_for_one_at_a_time_gives_a_whole_run_to_one_holder() {
        assert_eq!(LANE.may_start(1_000, 16), 16);
        assert_eq!(LaneState { running: 3, ..LANE }.may_start(1_000, 16), 0);
        assert_eq!(LaneState { ceiling: 4, running: 1, ..LANE }.may_start(0, 16), 3);
        assert_eq!(LaneState { ceiling: 4, running: 1, ..LANE }.may_start(1_000, 16), 1);
    }

    #[test]
    fn a_changed_gap_moves_the_next_start_but_no_rest() {
        assert_eq!(regapped(1_060, 60, 10, 1_000), 1_010);
        assert_eq!(regapped(1_030, 60, 90, 1_000), 1_060);
        assert_eq!(regapped(900, 60, 10, 1_000), 900);
        assert_eq!(regapped(5_000, 60, 10, 1_000), 5_000);
    }
}
