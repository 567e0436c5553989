//! [`Stage`]: what is running, and [`Acting`]: whom a thread acts as while it runs steps.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use super::{
    super::{machine::Place, record::Actor},
    World,
    entered::Frame,
    pool::Pool,
};

/// The part of the program that is running. It begins with the main future.
#[derive(Default)]
pub(super) struct Stage {
    pub(super) actor: Cell<Actor>,
    pub(super) place: Cell<Place>,
    /// The number of polls and calls on the stack.
    pub(super) depth: Cell<usize>,
    /// The waits of polls that block, which lie on the stack.
    pub(super) frames: RefCell<Vec<Frame>>,
    /// The number of steps that have begun.
    pub(super) steps: Cell<u64>,
}

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
        world.stage.depth.set(world.stage.depth.get() + 1);
        Self {
            world,
            pool: world.pools.all.borrow()[0].clone(),
            number: 0,
            actor: world.stage.actor.get(),
            place: world.stage.place.get(),
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
        let pool = self.world.pools.all.borrow()[usize::from(number)].clone();
        self.pool = pool;
        self.number = number;
    }

    pub(super) fn leave(&self) {
        self.world.stage.actor.set(self.actor);
        self.world.set_place(self.place);
    }
}

impl Drop for Acting<'_> {
    fn drop(&mut self) {
        self.leave();
        self.world.stage.depth.set(self.world.stage.depth.get() - 1);
    }
}
