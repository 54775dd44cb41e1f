"""The local web application: traces, marks and pages of patients, for one person at one machine."""
