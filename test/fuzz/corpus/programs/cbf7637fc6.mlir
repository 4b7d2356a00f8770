// pipeline: 
"tirx.kernel"()<{sym_name=128:f80}>({"tirx.return"():()->()}):()->()