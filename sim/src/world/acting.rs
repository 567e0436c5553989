//! [`Acting`]: whom a thread acts as while it runs steps.

use alloc::rc::Rc;

use super::{
    super::{machine::Place, record::Actor},
    World,
    pool::Pool,
};

/// Whom this thread acts as while it runs steps, one after the other. Each step only sets what it
/// needs. What was set before all of them is restored by [`leave`](Self::leave), for code that is
/// no step's, and by the drop.
pub(super) struct Acting<'a> {
    world: &'a World,
    /// The executor of the last task that has run, and its number.
    pub(super) pool: Rc<Pool>,
    number: u16,
    actor: Actor,
    place: Place,
}

impl<'a> Acting<'a> {
    /// Begins with the first executor, that of the main future.
    pub(super) fn begin(world: &'a World) -> Self {
        world.depth.set(world.depth.get() + 1);
        Self {
            world,
            pool: world.pools.borrow()[0].clone(),
            number: 0,
            actor: world.acting.get(),
            place: world.place.get(),
        }
    }

    /// Prepares to run a task of the executor with this number.
    #[inline(always)]
    pub(super) fn use_pool(&mut self, number: u16) {
        // One that has ended has no tasks, and another one may have got its number.
        if self.number != number || self.pool.has_ended.get() {
            self.change_pool(number);
        }
    }

    #[inline(never)]
    fn change_pool(&mut self, number: u16) {
        let pool = self.world.pools.borrow()[usize::from(number)].clone();
        self.pool = pool;
        self.number = number;
    }

    /// Acts as before the steps.
    pub(super) fn leave(&self) {
        self.world.acting.set(self.actor);
        self.world.place.set(self.place);
    }
}

impl Drop for Acting<'_> {
    fn drop(&mut self) {
        self.leave();
        self.world.depth.set(self.world.depth.get() - 1);
    }
}
