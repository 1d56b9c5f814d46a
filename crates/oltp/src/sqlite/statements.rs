//! The SQL of the transactions on SQLite, named by what it does.

pub(super) const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";
pub(super) const BEGIN_READ: &str = "BEGIN";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
pub(super) const WAREHOUSE_TAX: &str = "SELECT w_tax FROM warehouse WHERE w_id = ?1";
pub(super) const CUSTOMER_TERMS: &str =
    "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
pub(super) const NEXT_ORDER: &str = "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ?1 AND d_id = ?2 RETURNING \
    d_next_o_id - 1, d_tax";
pub(super) const INSERT_ORDER: &str = "INSERT INTO orders VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6, ?7)";
pub(super) const INSERT_NEW_ORDER: &str = "INSERT INTO new_order VALUES (?1, ?2, ?3)";
pub(super) const ITEM: &str = "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?1";
pub(super) const UPDATE_STOCK: &str = "UPDATE stock SET s_quantity = ?3, s_ytd = s_ytd + ?4, s_order_cnt = s_order_cnt + 1, s_remote_cnt = \
    s_remote_cnt + ?5 WHERE s_w_id = ?1 AND s_i_id = ?2";
pub(super) const INSERT_LINE: &str =
    "INSERT INTO order_line VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, ?8, ?9)";
pub(super) const PAY_WAREHOUSE: &str = "UPDATE warehouse SET w_ytd = w_ytd + ?2 WHERE w_id = ?1 RETURNING w_name, w_street_1, w_street_2, \
    w_city, w_state, w_zip";
pub(super) const PAY_DISTRICT: &str = "UPDATE district SET d_ytd = d_ytd + ?3 WHERE d_w_id = ?1 AND d_id = ?2 RETURNING d_name, \
    d_street_1, d_street_2, d_city, d_state, d_zip";
pub(super) const BY_NAME: &str =
    "SELECT c_id FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_last = ?3 ORDER BY c_first";
pub(super) const CREDIT: &str =
    "SELECT c_credit, c_data FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
pub(super) const PAY_CUSTOMER: &str = "UPDATE customer SET c_balance = c_balance - ?4, c_ytd_payment = c_ytd_payment + ?4, c_payment_cnt = \
    c_payment_cnt + 1 WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
pub(super) const PAY_BAD_CUSTOMER: &str = "UPDATE customer SET c_balance = c_balance - ?4, c_ytd_payment = c_ytd_payment + ?4, c_payment_cnt = \
    c_payment_cnt + 1, c_data = ?5 WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
pub(super) const INSERT_HISTORY: &str = "INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
pub(super) const BALANCE: &str = "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3";
pub(super) const LAST_ORDER: &str = "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_c_id = ?3 \
    ORDER BY o_id DESC LIMIT 1";
pub(super) const LINES: &str = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id \
    = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
pub(super) const OLDEST: &str =
    "SELECT no_o_id FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 ORDER BY no_o_id LIMIT 1";
pub(super) const DELETE_NEW_ORDER: &str =
    "DELETE FROM new_order WHERE no_w_id = ?1 AND no_d_id = ?2 AND no_o_id = ?3";
pub(super) const SET_CARRIER: &str =
    "UPDATE orders SET o_carrier_id = ?4 WHERE o_w_id = ?1 AND o_d_id = ?2 AND o_id = ?3 RETURNING o_c_id";
pub(super) const SET_DELIVERY: &str =
    "UPDATE order_line SET ol_delivery_d = ?4 WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
pub(super) const ORDER_AMOUNT: &str =
    "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 AND ol_o_id = ?3";
pub(super) const ADD_BALANCE: &str = "UPDATE customer SET c_balance = c_balance + ?4, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = \
    ?1 AND c_d_id = ?2 AND c_id = ?3";
pub(super) const DISTRICT_NEXT: &str = "SELECT d_next_o_id FROM district WHERE d_w_id = ?1 AND d_id = ?2";
pub(super) const STOCK_LEVEL: &str = "SELECT count(*) FROM (SELECT DISTINCT ol_i_id FROM order_line WHERE ol_w_id = ?1 AND ol_d_id = ?2 \
    AND ol_o_id >= ?3 - 20 AND ol_o_id < ?3) JOIN stock ON s_w_id = ?1 AND s_i_id = ol_i_id WHERE \
    s_quantity < ?4";
