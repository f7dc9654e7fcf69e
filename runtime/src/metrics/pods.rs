//! The devices of pods for `/metrics`. However many clients scrape, the kubelet gets at most one query per interval.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::{BoxedFuture, PluginMetrics, PodDevices};

/// How long the result of a query is reused. It is shorter than usual scrape intervals (Prometheus: 15 s to a minute),
/// so that each scrape has a current result.
pub const POD_CACHE_TIME: Duration = Duration::from_secs(5);

/// Timeout of a query; shorter than [`POD_CACHE_TIME`], so that only one is in flight.
const POD_QUERY_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the devices of pods; `None` if the kubelet does not respond.
pub type PodLister = Box<dyn Fn() -> BoxedFuture<Option<Vec<PodDevices>>> + Send + Sync>;

/// The last query and its result.
pub(super) struct PodCache {
    lister: PodLister,
    plugin: PluginMetrics,
    latest: Mutex<Option<Query>>,
}

#[derive(Clone)]
struct Query {
    started: Instant,
    /// `None` while the query is running. A failed query has no devices.
    result: watch::Receiver<Option<Arc<[PodDevices]>>>,
}

impl PodCache {
    pub(super) fn new(lister: PodLister, plugin: PluginMetrics) -> Self {
        Self {
            lister,
            plugin,
            latest: Mutex::default(),
        }
    }

    /// Returns the devices of pods: those of the last query, or those of a new one after [`POD_CACHE_TIME`]. A failed
    /// query is reused as well.
    pub(super) async fn devices(&self) -> Arc<[PodDevices]> {
        let mut result = self.current_query().result;
        let finished = result.wait_for(Option::is_some).await;
        finished.map_or_else(
            |_| Arc::default(),
            |devices| devices.clone().unwrap_or_default(),
        )
    }

    fn current_query(&self) -> Query {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some(query) if query.started.elapsed() < POD_CACHE_TIME => query.clone(),
            _ => latest.insert(self.start_query()).clone(),
        }
    }

    /// Starts a query in a task, so that it continues for the other clients if one disconnects.
    fn start_query(&self) -> Query {
        let (sender, result) = watch::channel(None);
        let response = timeout(POD_QUERY_TIMEOUT, (self.lister)());
        let plugin = self.plugin.clone();
        tokio::spawn(async move {
            let devices = response.await.ok().flatten();
            if devices.is_none() {
                plugin.count_pod_query_failure();
            }
            sender.send_replace(Some(devices.unwrap_or_default().into()));
        });
        Query {
            started: Instant::now(),
            result,
        }
    }
}

impl fmt::Debug for PodCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodCache").finish_non_exhaustive()
    }
}

/// Boxes a function that lists the devices of pods.
pub fn pod_lister<F>(list: impl Fn() -> F + Send + Sync + 'static) -> PodLister
where
    F: Future<Output = Option<Vec<PodDevices>>> + Send + 'static,
{
    Box::new(move || Box::pin(list()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::JoinSet;
    use tokio::time::sleep;

    use super::*;

    /// A cache whose kubelet takes this time for a response, or never responds, and the number of queries.
    fn cache(duration: Option<Duration>) -> (Arc<PodCache>, Arc<AtomicUsize>) {
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        let lister = pod_lister(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            async move {
                match duration {
                    Some(duration) => sleep(duration).await,
                    None => std::future::pending().await,
                }
                Some(vec![PodDevices::default()])
            }
        });
        let cache = PodCache::new(lister, PluginMetrics::default());
        (Arc::new(cache), calls)
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_scrapes_share_a_query() {
        let (cache, calls) = cache(Some(Duration::from_millis(500)));
        let mut scrapes = JoinSet::new();
        for _ in 0..1_000 {
            let cache = Arc::clone(&cache);
            scrapes.spawn(async move { cache.devices().await.len() });
        }
        assert_eq!(scrapes.join_all().await, [1; 1_000]);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert_eq!(cache.devices().await.len(), 1);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        sleep(POD_CACHE_TIME).await;
        assert_eq!(cache.devices().await.len(), 1);
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_query_is_not_repeated_at_once() {
        let (cache, calls) = cache(None);
        let start = Instant::now();
        for _ in 0..10 {
            assert_eq!(cache.devices().await.len(), 0);
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert!(start.elapsed() < POD_CACHE_TIME);
        sleep(POD_CACHE_TIME).await;
        cache.devices().await;
        assert_eq!(calls.load(Ordering::SeqCst), 2);
    }

    /// A client that disconnects must not make the next one start another query.
    #[tokio::test(start_paused = true)]
    async fn abandoned_scrape_does_not_cancel_the_query() {
        let (cache, calls) = cache(Some(Duration::from_millis(500)));
        for _ in 0..20 {
            let scrape = timeout(Duration::from_millis(10), cache.devices());
            assert!(scrape.await.is_err());
        }
        assert_eq!(cache.devices().await.len(), 1);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
