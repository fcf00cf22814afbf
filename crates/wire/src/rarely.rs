//! `Rarely`: a value in a box that few packets have.
//!
//! A function of its own releases it: inlined wherever a packet is dropped, that took more
//! instructions than everything else that a packet without one needs.

use std::fmt;

/// A value, or none.
#[derive(PartialEq, Eq)]
pub(crate) struct Rarely<T>(Option<Box<T>>);

impl<T> Rarely<T> {
    /// No value.
    pub(crate) const NONE: Self = Rarely(None);

    pub(crate) fn new(value: T) -> Self {
        Rarely(Some(Box::new(value)))
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    #[inline]
    pub(crate) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Takes the value out.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.take().map(|value| *value)
    }
}

impl<T: Clone> Clone for Rarely<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Rarely(self.0.as_deref().map(copy))
    }
}

#[cold]
#[inline(never)]
fn copy<T: Clone>(value: &T) -> Box<T> {
    Box::new(value.clone())
}

impl<T: Default> Rarely<T> {
    pub(crate) fn get_or_insert_default(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T> Default for Rarely<T> {
    #[inline]
    fn default() -> Self {
        Rarely::NONE
    }
}

impl<T: fmt::Debug> fmt::Debug for Rarely<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Drop for Rarely<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.is_some() {
            release(self.0.take());
        }
    }
}

#[cold]
#[inline(never)]
fn release<T>(value: Option<Box<T>>) {
    drop(value);
}
