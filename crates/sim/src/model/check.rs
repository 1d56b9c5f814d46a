//! Values that make no sense are refused before a simulation starts.

use super::{Model, ModelError, Services};
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
        let front_end = &self.front_end;
        if front_end.cores() == 0 || front_end.cores() > CORES_MAX {
            return Err(checker.refuse("front_end", format!("needs 1 to {CORES_MAX} cores")));
        }
        if front_end.segment.0 < 512 {
            return Err(checker.refuse("front_end.segment", "is below 512 bytes"));
        }
        if front_end.stages.len() > 16 {
            return Err(checker.refuse("front_end.stages", "are more than 16"));
        }
        for stage in &front_end.stages {
            checker.services(&format!("front_end.stages.{}", stage.name), &stage.service)?;
        }
        Ok(())
    }
}
