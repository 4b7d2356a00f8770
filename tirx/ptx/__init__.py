"""PTX text: targets, what each of them supports, printing and assembling."""
