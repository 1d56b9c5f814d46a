//! Values that make no sense are refused before a simulation starts.

use super::{
    BackEnd, Cache, Drive, Fault, FrontEnd, Hdd, Model, ModelError, Protection, Services, Size, Ssd,
};
use crate::service::Service;

/// Collects the path of the field that is looked at.
struct Checker<'a> {
    model: &'a str,
}

impl Checker<'_> {
    fn refuse(&self, field: impl Into<String>, problem: impl Into<String>) -> ModelError {
        ModelError::Value { model: self.model.to_owned(), field: field.into(), problem: problem.into() }
    }

    fn service(&self, field: &str, service: &Service) -> Result<(), ModelError> {
        service.problem().map_or(Ok(()), |problem| Err(self.refuse(field, problem)))
    }

    fn services(&self, field: &str, services: &Services) -> Result<(), ModelError> {
        let optional = |name, service: &Option<Service>| match service {
            Some(service) => self.service(&format!("{field}.{name}"), service),
            None => Ok(()),
        };
        self.service(&format!("{field}.read"), &services.read)?;
        optional("write", &services.write)?;
        optional("trim", &services.trim)?;
        self.service(&format!("{field}.flush"), &services.flush)
    }
}

impl Checker<'_> {
    /// Refuses unless `holds`.
    fn need(&self, holds: bool, field: &str, problem: &str) -> Result<(), ModelError> {
        if holds { Ok(()) } else { Err(self.refuse(field, problem)) }
    }

    fn front_end(&self, front_end: &FrontEnd) -> Result<(), ModelError> {
        let cores = (1..=CORES_MAX).contains(&front_end.cores());
        self.need(cores, "front_end", &format!("needs 1 to {CORES_MAX} cores"))?;
        self.need(front_end.segment.0 >= 512, "front_end.segment", "is below 512 bytes")?;
        self.need(front_end.stages.len() <= 16, "front_end.stages", "are more than 16")?;
        for stage in &front_end.stages {
            self.services(&format!("front_end.stages.{}", stage.name), &stage.service)?;
        }
        Ok(())
    }

    fn cache(&self, cache: &Cache) -> Result<(), ModelError> {
        self.need(cache.page.0 >= 512, "cache.page", "is below 512 bytes")?;
        let pages = cache.size.0 / cache.page.0.max(1);
        self.need((1..=PAGES_MAX).contains(&pages), "cache.size", "is not 1 to 2^26 pages")?;
        self.service("cache.hit", &cache.hit)?;
        self.service("cache.miss", &cache.miss)?;
        let Some(write_back) = &cache.write_back else { return Ok(()) };
        self.service("cache.write_back.service", &write_back.service)?;
        let dirty = write_back.dirty_max.0 / cache.page.0;
        self.need((2..=PAGES_MAX).contains(&dirty), "cache.write_back.dirty_max", "is not 2 to 2^26 pages")?;
        self.need(write_back.destage_outstanding > 0, "cache.write_back.destage_outstanding", "is 0")?;
        self.need(write_back.destage_max.0 <= 1 << 30, "cache.write_back.destage_max", "is above 1 GiB")?;
        let above = write_back.destage_above;
        self.need((0.0..1.0).contains(&above), "cache.write_back.destage_above", "is not from 0 to below 1")
    }

    fn back_end(&self, back_end: &BackEnd, controllers: u16) -> Result<(), ModelError> {
        let field = "back_end.protection";
        let drives = back_end.drives;
        self.need(drives > 0, "back_end.drives", "is 0")?;
        let stripe = |size: Size| self.need(size.0 >= 512, field, "the unit is below 512 bytes");
        match &back_end.protection {
            Protection::Raid0 { stripe: size } | Protection::Spread { unit: size } => stripe(*size)?,
            Protection::Raid1 => {}
            Protection::Raid10 { stripe: size } => {
                stripe(*size)?;
                self.need(drives.is_multiple_of(2), field, "raid10 needs pairs of drives")?;
            }
            Protection::Raid5 { stripe: size } => {
                stripe(*size)?;
                self.need(drives >= 3, field, "raid5 needs at least 3 drives")?;
            }
            Protection::Replicated { copies, network, store } => {
                self.need(
                    *copies > 0 && *copies <= controllers.min(16),
                    field,
                    "more copies than controllers",
                )?;
                self.need(
                    drives.is_multiple_of(controllers),
                    field,
                    "controllers do not share the drives evenly",
                )?;
                self.service("back_end.protection.network", network)?;
                self.service("back_end.protection.store", store)?;
            }
        }
        match &back_end.drive {
            Drive::Ssd(ssd) => self.ssd(ssd),
            Drive::Hdd(hdd) => self.hdd(hdd),
        }
    }

    fn ssd(&self, ssd: &Ssd) -> Result<(), ModelError> {
        let field = "back_end.drive.ssd";
        self.need((1..=1024).contains(&ssd.servers), field, "needs 1 to 1024 servers")?;
        self.need(ssd.chunk.0 >= 512, field, "the chunk is below 512 bytes")?;
        let rates = ssd.read_bytes_per_s > 0.0 && ssd.write_bytes_per_s > 0.0;
        self.need(rates, field, "bytes per second are not above 0")?;
        self.service("back_end.drive.ssd.read", &ssd.read)?;
        self.service("back_end.drive.ssd.write", &ssd.write)
    }

    fn hdd(&self, hdd: &Hdd) -> Result<(), ModelError> {
        let field = "back_end.drive.hdd";
        self.need(hdd.rpm > 0.0, field, "rpm is not above 0")?;
        self.need(hdd.capacity.0 > 0, field, "the capacity is 0")?;
        self.need(hdd.seek_min <= hdd.seek_max, field, "seek_min is above seek_max")?;
        let rates = hdd.outer_bytes_per_s > 0.0 && hdd.inner_bytes_per_s > 0.0;
        self.need(rates, field, "bytes per second are not above 0")?;
        self.service("back_end.drive.hdd.overhead", &hdd.overhead)
    }

    fn fault(&self, model: &Model, fault: &Fault) -> Result<(), ModelError> {
        let drives = model.back_end.as_ref().map_or(0, |back_end| back_end.drives);
        let during = fault.during();
        self.need(during.from <= during.to, "faults", "one ends before it starts")?;
        match *fault {
            Fault::SlowDrive { drive, .. } | Fault::FailedDrive { drive, .. } => {
                self.need(drive < drives, "faults", &format!("there is no drive {drive}"))?;
            }
            Fault::SlowCore { core, .. } => {
                let exists = u32::from(core) < model.front_end.cores();
                self.need(exists, "faults", &format!("there is no core {core}"))?;
            }
            Fault::FailedController { controller, .. } => {
                let exists = controller < model.front_end.controllers;
                self.need(exists, "faults", &format!("there is no controller {controller}"))?;
            }
            Fault::Errors { share, .. } => {
                self.need((0.0..=1.0).contains(&share), "faults", "a share is not from 0 to 1")?;
            }
            Fault::SlowDelay { .. } | Fault::Stall { .. } => {}
        }
        match *fault {
            Fault::SlowDrive { factor, .. }
            | Fault::SlowCore { factor, .. }
            | Fault::SlowDelay { factor, .. } => {
                self.need((0.0..=1e6).contains(&factor), "faults", "a factor is not from 0 to 10^6")
            }
            _ => Ok(()),
        }
    }
}

/// The most pages of a cache: more than a gigabyte of memory would be needed for more.
const PAGES_MAX: u64 = 1 << 26;
/// The most cores a model may have: what one byte-sized step of the simulator's programs and a page of output can hold.
const CORES_MAX: u32 = 4096;

impl Model {
    /// Whether all values make sense.
    ///
    /// # Errors
    /// [`ModelError::Value`] naming the first that does not.
    pub fn check(&self) -> Result<(), ModelError> {
        let checker = Checker { model: &self.name };
        checker.services("delay", &self.delay)?;
        checker.front_end(&self.front_end)?;
        if let Some(link) = &self.link {
            checker.need(link.bytes_per_s > 0.0, "link.bytes_per_s", "is not above 0")?;
        }
        if let Some(cache) = &self.cache {
            checker.cache(cache)?;
        }
        if let Some(back_end) = &self.back_end {
            checker.back_end(back_end, self.front_end.controllers)?;
        }
        self.faults.iter().try_for_each(|fault| checker.fault(self, fault))
    }
}
