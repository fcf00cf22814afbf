//! `Few`: a list that is mostly empty, and takes one word then.

use crate::rarely::Rarely;
use std::ops::Deref;

/// A list that is mostly empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Few<T>(Rarely<Box<[T]>>);

impl<T> Default for Few<T> {
    #[inline]
    fn default() -> Few<T> {
        Few(Rarely::NONE)
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.0.get().map_or(&[], |list| list)
    }
}

impl<T> From<Box<[T]>> for Few<T> {
    fn from(list: Box<[T]>) -> Few<T> {
        if list.is_empty() { Few::default() } else { Few(Rarely::new(list)) }
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(list: Vec<T>) -> Few<T> {
        list.into_boxed_slice().into()
    }
}

impl<T, const N: usize> From<[T; N]> for Few<T> {
    fn from(list: [T; N]) -> Few<T> {
        Vec::from(list).into()
    }
}
