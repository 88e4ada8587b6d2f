"""The first setup of a machine: survey, plan, and first answer."""
