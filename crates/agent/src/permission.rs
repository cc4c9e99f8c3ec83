//! Who may do what: rules, modes, and what is not asked.
