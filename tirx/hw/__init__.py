"""Facts of the hardware that several instruction families share: targets, features, element types, rules."""
