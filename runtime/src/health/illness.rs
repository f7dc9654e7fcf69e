//! What is remembered of one GPU or MIG device: whether it is ill, why, since when, and how often it was.

use super::policy::{DAY, Policy};

/// The longest time between two questions to a GPU that is still ill: ten minutes in milliseconds.
const LONGEST_RETRY: u64 = 10 * 60 * 1000;

/// How long to wait before a GPU that does not answer is asked again, where the policy names no time: one minute.
const RETRY: u64 = 60 * 1000;

/// A GPU or MIG device that is or was ill. Times are milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    /// The UUID of the GPU that it is, or is on.
    pub(super) gpu: String,
    /// The GPU's index; `None` while the inventory has no such thing.
    pub(super) index: Option<u32>,
    /// What it has.
    pub(super) illness: Option<Illness>,
    /// How often it fell ill again within a day.
    relapses: u32,
    /// When it was last well again.
    recovered: Option<u64>,
}

/// Why something is not used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Illness {
    /// What happened.
    cause: String,
    /// What the driver says that is to be done.
    pub(super) word: Option<String>,
    /// Why it does not answer, while it does not.
    pub(super) silence: Option<String>,
    /// Whether only the driver's word that nothing is left to do cures it.
    strict: bool,
    /// When something last happened to it.
    last: u64,
    /// When it is asked again at the earliest, after an answer that did not cure it.
    retry: u64,
}

impl Record {
    pub(super) fn new(gpu: &str, index: u32) -> Self {
        Self {
            gpu: gpu.to_owned(),
            index: Some(index),
            illness: None,
            relapses: 0,
            recovered: None,
        }
    }

    /// Something happened to it. Answers whether it was well before; of several causes the gravest is remembered.
    pub(super) fn strike(&mut self, cause: &str, strict: bool, now: u64) -> bool {
        let fell = self.illness.is_none();
        let illness = self.fall(now);
        if fell || strict >= illness.strict {
            cause.clone_into(&mut illness.cause);
        }
        illness.strict |= strict;
        illness.last = now;
        fell
    }

    /// It does not answer. Answers whether it was well before.
    pub(super) fn silence(&mut self, why: &str, now: u64) -> bool {
        let fell = self.illness.is_none();
        let illness = self.fall(now);
        if illness.silence.is_none() {
            illness.retry = now;
        }
        illness.silence = Some(why.to_owned());
        fell
    }

    /// It answers again, which does not make it well yet. Answers whether it was silent.
    pub(super) fn speak(&mut self, now: u64) -> bool {
        let Some(illness) = &mut self.illness else {
            return false;
        };
        let silent = illness.silence.take().is_some();
        if silent {
            illness.last = now;
            illness.retry = now;
        }
        silent
    }

    /// It answers well: `word` is whether the driver says itself that nothing is left to do. What was asked before
    /// `asked` is over. Answers whether it is well now and was not before.
    pub(super) fn cure(&mut self, policy: &Policy, word: bool, asked: u64, now: u64) -> bool {
        let ready = self.ready(policy);
        let Some(illness) = &mut self.illness else {
            return false;
        };
        if illness.silence.is_some() {
            return false;
        }
        illness.word = None;
        let Some(ready) = ready else {
            return false;
        };
        if illness.strict && !word {
            let unsaid = "the driver does not say that it is well again";
            illness.word = Some(unsaid.to_owned());
        } else if ready <= asked {
            self.illness = None;
            self.recovered = Some(now);
            return true;
        }
        self.put_off(policy, now);
        false
    }

    /// An answer did not cure it: the next question comes later.
    pub(super) fn put_off(&mut self, policy: &Policy, now: u64) {
        let wait = policy.wait(self.relapses).unwrap_or(RETRY);
        if let Some(illness) = &mut self.illness {
            illness.retry = now.saturating_add(wait.clamp(1_000, LONGEST_RETRY));
        }
    }

    /// When it is to be asked whether it is well; `None` where that is of no use.
    pub(super) fn question(&self, policy: &Policy) -> Option<u64> {
        let illness = self.illness.as_ref()?;
        self.index?;
        if illness.silence.is_some() {
            return Some(illness.retry);
        }
        // Where the last answer came too early, the time of quiet decides; where it was bad, the retry.
        Some(self.ready(policy)?.max(if illness.word.is_some() {
            illness.retry
        } else {
            0
        }))
    }

    /// Why it must not be used, in words.
    pub(super) fn trouble(&self) -> Option<String> {
        let illness = self.illness.as_ref()?;
        let said = illness.silence.as_ref().or(illness.word.as_ref());
        Some(match said {
            Some(said) if illness.cause.is_empty() || *said == illness.cause => said.clone(),
            Some(said) => format!("{}; {said}", illness.cause),
            None if illness.cause.is_empty() => "it did not answer a while ago".to_owned(),
            None => illness.cause.clone(),
        })
    }

    /// From when on a good answer cures it.
    fn ready(&self, policy: &Policy) -> Option<u64> {
        let wait = policy.wait(self.relapses)?;
        Some(self.illness.as_ref()?.last.saturating_add(wait))
    }

    fn fall(&mut self, now: u64) -> &mut Illness {
        if self.illness.is_none() {
            let again = self
                .recovered
                .is_some_and(|recovered| now.saturating_sub(recovered) < DAY);
            self.relapses = if again {
                self.relapses.saturating_add(1)
            } else {
                0
            };
        }
        self.illness.get_or_insert(Illness {
            cause: String::new(),
            word: None,
            silence: None,
            strict: false,
            last: now,
            retry: now,
        })
    }
}
