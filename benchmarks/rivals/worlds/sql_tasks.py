"""The wishes of the world `sql-changes`, each with statements that fulfil it."""

TRAIN = [
    ("train-01", "the fee of every member in Kiel becomes 25", "UPDATE members SET fee = 25 WHERE city = 'Kiel'"),
    ("train-02", "the loan with id 7 is deleted", "DELETE FROM loans WHERE id = 7"),
    (
        "train-03",
        "a book is added: id 8, title 'Moss', year 2024, 1 copy, shelf A",
        "INSERT INTO books VALUES (8, 'Moss', 2024, 1, 'A')",
    ),
    ("train-04", "books from before 1990 move to shelf C", "UPDATE books SET shelf = 'C' WHERE year < 1990"),
    (
        "train-05",
        "members who have never borrowed a book are deleted",
        "DELETE FROM members WHERE id NOT IN (SELECT member_id FROM loans)",
    ),
    ("train-06", "every book gets one copy more", "UPDATE books SET copies = copies + 1"),
    (
        "train-07",
        "all loans of Bo are marked as returned",
        "UPDATE loans SET returned = 1 WHERE member_id = (SELECT id FROM members WHERE name = 'Bo')",
    ),
    ("train-08", "inactive members pay no fee: it becomes 0", "UPDATE members SET fee = 0 WHERE active = 0"),
    (
        "train-09",
        "the title of the oldest book becomes 'Nine Wells (old)'",
        "UPDATE books SET title = 'Nine Wells (old)' WHERE id = 6",
    ),
    ("train-10", "loans of 2023 that are returned are deleted", "DELETE FROM loans WHERE id = 7"),
    (
        "train-11",
        "books that nobody has ever borrowed move to shelf Z",
        "UPDATE books SET shelf = 'Z' WHERE id NOT IN (SELECT book_id FROM loans)",
    ),
    (
        "train-12",
        "the fee of each active member falls by 5",
        "UPDATE members SET fee = fee - 5 WHERE active = 1",
    ),
]

TEST = [
    ("sql-01", "the city of Fay becomes Ulm", "UPDATE members SET city = 'Ulm' WHERE name = 'Fay'"),
    ("sql-02", "the fee of each member in Ulm rises by 5", "UPDATE members SET fee = fee + 5 WHERE city = 'Ulm'"),
    ("sql-03", "books without copies are deleted", "DELETE FROM books WHERE copies = 0"),
    (
        "sql-04",
        "a member is added: id 7, name 'Gus', city Bonn, fee 20, active",
        "INSERT INTO members VALUES (7, 'Gus', 'Bonn', 20, 1)",
    ),
    (
        "sql-05",
        "loans from before 2024 that are not returned are marked as returned",
        "UPDATE loans SET returned = 1 WHERE day < '2024-01-01' AND returned = 0",
    ),
    (
        "sql-06",
        "members without an open loan (one that is not returned) become inactive",
        "UPDATE members SET active = 0 WHERE id NOT IN (SELECT member_id FROM loans WHERE returned = 0)",
    ),
    (
        "sql-07",
        "each book gets as many copies less as it has open loans (loans that are not returned)",
        "UPDATE books SET copies = copies - (SELECT COUNT(*) FROM loans WHERE book_id = books.id AND returned = 0)",
    ),
    ("sql-08", "shelf A is renamed to Atlas", "UPDATE books SET shelf = 'Atlas' WHERE shelf = 'A'"),
    (
        "sql-09",
        "the loans of inactive members are deleted",
        "DELETE FROM loans WHERE member_id IN (SELECT id FROM members WHERE active = 0)",
    ),
    (
        "sql-10",
        "Dora borrows the book 'Copper': a loan is added with id 9, day 2024-05-01, not returned",
        "INSERT INTO loans VALUES (9, 7, 4, '2024-05-01', 0)",
    ),
    (
        "sql-11",
        "the title of each book on shelf B is written in capital letters",
        "UPDATE books SET title = upper(title) WHERE shelf = 'B'",
    ),
    (
        "sql-12",
        "the fee becomes 15 for members with more than one loan, returned or not",
        "UPDATE members SET fee = 15 WHERE id IN (SELECT member_id FROM loans GROUP BY member_id HAVING COUNT(*) > 1)",
    ),
    (
        "sql-13",
        "of the loans of each member only the latest is kept, the others are deleted",
        "DELETE FROM loans WHERE EXISTS "
        "(SELECT 1 FROM loans later WHERE later.member_id = loans.member_id AND later.day > loans.day)",
    ),
    ("sql-14", "the years of all books from 2000 on become 2000", "UPDATE books SET year = 2000 WHERE year >= 2000"),
    (
        "sql-15",
        "books that have been borrowed at least twice get one copy more",
        "UPDATE books SET copies = copies + 1 WHERE id IN "
        "(SELECT book_id FROM loans GROUP BY book_id HAVING COUNT(*) >= 2)",
    ),
    (
        "sql-16",
        "active members in the city where most members live pay 40; on a tie, all of these cities count",
        "UPDATE members SET fee = 40 WHERE active = 1 AND city IN ('Ulm', 'Kiel')",
    ),
    ("sql-17", "the day of the loan with id 8 moves to the day before", "UPDATE loans SET day = '2024-03-31' WHERE id = 8"),
    (
        "sql-18",
        "the book with the fewest copies moves to shelf D",
        "UPDATE books SET shelf = 'D' WHERE copies = (SELECT MIN(copies) FROM books)",
    ),
    (
        "sql-19",
        "everyone who has borrowed 'Tides' becomes active",
        "UPDATE members SET active = 1 WHERE id IN (SELECT member_id FROM loans WHERE book_id = 1)",
    ),
    (
        "sql-20",
        "Ada and Bo swap their fees",
        "UPDATE members SET fee = CASE name WHEN 'Ada' THEN 20 ELSE 30 END WHERE name IN ('Ada', 'Bo')",
    ),
    ("sql-21", "the ids of all loans grow by 100", "UPDATE loans SET id = id + 100"),
    (
        "sql-22",
        "a book without any loan and from before 2005 is deleted",
        "DELETE FROM books WHERE year < 2005 AND id NOT IN (SELECT book_id FROM loans)",
    ),
    (
        "sql-23",
        "open loans (not returned) of March 2024 are handed over to Cem, whose id is 3",
        "UPDATE loans SET member_id = 3 WHERE returned = 0 AND day LIKE '2024-03-%'",
    ),
    (
        "sql-24",
        "the name of each inactive member gets ' (left)' at its end",
        "UPDATE members SET name = name || ' (left)' WHERE active = 0",
    ),
]
