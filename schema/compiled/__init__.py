"""Operations compiled once and answered straight from the rows of the database, without a resolver for each field."""
