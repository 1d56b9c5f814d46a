//! A door for `fuzz/`, in its builds alone: transactions with whatever has the port of a server.

use assay_workload::rng::Rng;

use crate::inputs::{HomeWarehouse, Inputs, Mix, UserPlace};
use crate::postgres::{ClientSession, ServerSideSession};
use crate::scale::Scale;
use crate::session::Session;
use crate::text::NuRand;
use crate::{Error, ServerUrl};

/// At most.
const TRANSACTIONS: usize = 64;

/// How many transactions the server answered, before an error.
pub fn transactions(url: &ServerUrl, seed: u64, server_side: bool) -> usize {
    let session: Result<Box<dyn Session>, Error> = match server_side {
        true => ServerSideSession::connect(url, false).map(|session| Box::new(session) as Box<dyn Session>),
        false => ClientSession::connect(url, false).map(|session| Box::new(session) as Box<dyn Session>),
    };
    let Ok(mut session) = session else { return 0 };
    let mut rng = Rng::new(seed);
    let nurand = NuRand::of_run(&mut rng, 100);
    let place = UserPlace { user: 0, users: 1, home: HomeWarehouse::All };
    let mut inputs = Inputs::new(rng, nurand, (Scale::STANDARD, 1), Mix::Spec, place);
    let mut one = |at: usize| {
        inputs.choose();
        inputs.draw(at as i64);
        session.perform(&inputs.input).is_ok()
    };
    (0..TRANSACTIONS).take_while(|at| one(*at)).count()
}
