//! What the demo's wiki is about: a small harbour town.

pub(super) struct Subject {
    pub title: &'static str,
    /// Inside of a sentence.
    pub it: &'static str,
    pub what: &'static str,
}

const fn subject(title: &'static str, it: &'static str, what: &'static str) -> Subject {
    Subject { title, it, what }
}

/// The first is the wiki's main page.
pub(super) const SUBJECTS: [Subject; 12] = [
    subject("Puerto Malla", "the town", "a harbour town between two rivers"),
    subject("Old bridge", "the bridge", "the oldest bridge over the northern river"),
    subject("Cape North lighthouse", "the lighthouse", "a lighthouse on the cape north of the town"),
    subject("Fishing net", "the net", "a mesh of knotted twine, and the town's first trade"),
    subject("Harbour Post", "the paper", "a newspaper that appears every thirty seconds"),
    subject("Regatta", "the regatta", "a race of boats around the cape, held in spring"),
    subject("Fog bell", "the bell", "a bell that is rung when the lighthouse cannot be seen"),
    subject("Ferry", "the ferry", "the boat to the north shore"),
    subject("Market hall", "the hall", "a hall of iron and glass below the wall"),
    subject("Ada Brandt", "her workshop", "an engineer who built the lamp of the lighthouse"),
    subject("Tide table", "the table", "a list of high and low waters, usually right"),
    subject("Salt museum", "the museum", "a museum in the former salt store"),
];
