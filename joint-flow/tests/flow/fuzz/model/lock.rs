//! The lock of the interpreter: a list of requests, of which some have their permits.

#[derive(Default)]
pub(super) struct Lock {
    requests: Vec<Request>,
    tickets: usize,
    pub(super) is_closed: bool,
}

struct Request {
    ticket: usize,
    amount: usize,
    is_granted: bool,
}

impl Lock {
    /// Enters a request behind the others, and returns its ticket.
    pub(super) fn enter(&mut self, amount: usize, permits: usize) -> usize {
        self.tickets += 1;
        self.requests.push(Request {
            ticket: self.tickets,
            amount,
            is_granted: false,
        });
        self.admit(permits);
        self.tickets
    }

    /// Whether a request would be granted at once.
    pub(super) fn is_free(&self, amount: usize, permits: usize) -> bool {
        let taken = self.requests.iter().map(|request| request.amount).sum();
        self.requests.iter().all(|request| request.is_granted) && fits(taken, amount, permits)
    }

    pub(super) fn is_granted(&self, ticket: usize) -> bool {
        let mut requests = self.requests.iter();
        requests.any(|request| request.ticket == ticket && request.is_granted)
    }

    /// Removes a request that is given up, or whose permits are given back.
    pub(super) fn leave(&mut self, ticket: usize, permits: usize) {
        self.requests.retain(|request| request.ticket != ticket);
        self.admit(permits);
    }

    /// Gives some permits back.
    pub(super) fn give_back(&mut self, ticket: usize, amount: usize, permits: usize) {
        let mut requests = self.requests.iter_mut();
        if let Some(request) = requests.find(|request| request.ticket == ticket) {
            request.amount -= amount;
        }
        self.admit(permits);
    }

    /// Refuses all that have no permits yet.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.requests.retain(|request| request.is_granted);
    }

    fn admit(&mut self, permits: usize) {
        let granted = self.requests.iter().filter(|request| request.is_granted);
        let mut taken: usize = granted.map(|request| request.amount).sum();
        for request in &mut self.requests {
            if !request.is_granted {
                if !fits(taken, request.amount, permits) {
                    return;
                }
                taken += request.amount;
                request.is_granted = true;
            }
        }
    }
}

fn fits(taken: usize, amount: usize, permits: usize) -> bool {
    taken == 0 || taken + amount <= permits
}
